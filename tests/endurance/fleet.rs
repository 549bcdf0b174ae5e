//! The processes, what fails, and what they use.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{Plan, Stage};
use vitrine_harness::http;
use vitrine_harness::process::Service;
use vitrine_harness::token::TOKEN_SECRET;
use vitrine_harness::{Members, eventually};

/// A generous deadline for a busy machine.
const LONG: Duration = Duration::from_mins(3);
/// What fails, one after the other.
const FAULTS: [Fault; 5] = [
    Fault::StepDown,
    Fault::KillServe,
    Fault::FreezeSecondary,
    Fault::KillWork,
    Fault::FreezePrimary,
];

#[derive(Clone, Copy)]
enum Fault {
    StepDown,
    KillServe,
    FreezeSecondary,
    KillWork,
    FreezePrimary,
}

impl Fault {
    const fn name(self) -> &'static str {
        match self {
            Self::StepDown => "the primary steps down",
            Self::KillServe => "a process that serves is killed",
            Self::FreezeSecondary => "a secondary freezes",
            Self::KillWork => "the process that works is killed",
            Self::FreezePrimary => "the primary freezes",
        }
    }
}

/// Two processes that serve and one that works.
pub(super) struct Fleet {
    arguments: Vec<String>,
    serve: Vec<(Service, String)>,
    work: Service,
    /// The outputs of processes that were killed.
    outputs: Vec<String>,
}

impl Fleet {
    pub(super) async fn start(uri: &str, database: &str) -> Self {
        let arguments = ["--mongodb-uri", uri, "--database", database];
        let arguments = arguments.map(str::to_owned).to_vec();
        let serve = vec![serve(&arguments).await, serve(&arguments).await];
        let work = work(&arguments);
        Self {
            arguments,
            serve,
            work,
            outputs: Vec::new(),
        }
    }

    pub(super) fn addresses(&self) -> Vec<String> {
        let addresses = self.serve.iter().map(|(_, address)| address.clone());
        addresses.collect()
    }

    /// Lets things fail one after the other, each at least once, until the time is over.
    pub(super) async fn run(mut self, stage: &Stage, members: &Members, plan: &Plan) -> Self {
        let end = Instant::now() + plan.duration;
        for (number, fault) in FAULTS.iter().cycle().enumerate() {
            let is_over = !self.pause(stage, plan.between_faults, end).await;
            if is_over && number >= FAULTS.len() {
                break;
            }
            let began = Instant::now();
            self.fail(*fault, plan.frozen, stage, members).await;
            for address in self.addresses() {
                ready(&address).await;
            }
            let ended = Instant::now();
            stage.report(|report| report.faults.push((began, fault.name(), ended)));
        }
        stage.over.store(true, std::sync::atomic::Ordering::SeqCst);
        self
    }

    /// Waits, and notes the memory every second; returns false when it is over.
    async fn pause(&self, stage: &Stage, pause: Duration, end: Instant) -> bool {
        let next = Instant::now() + pause;
        while Instant::now() < next.min(end) {
            let serve = self.serve.iter().map(|(service, _)| service.memory());
            let most = serve.chain([self.work.memory()]).max().unwrap_or_default();
            stage.report(|report| report.memory.push((Instant::now(), most)));
            sleep(Duration::from_secs(1).min(pause)).await;
        }
        Instant::now() < end
    }

    async fn fail(&mut self, fault: Fault, frozen: Duration, stage: &Stage, members: &Members) {
        match fault {
            Fault::StepDown => {
                let primary = members.primary().await;
                members.step_down(primary).await;
                members.primary().await;
            }
            Fault::FreezePrimary | Fault::FreezeSecondary => {
                let primary = members.primary().await;
                let member = match fault {
                    Fault::FreezePrimary => primary,
                    _ => members.secondaries().await[0],
                };
                members.freeze(member);
                sleep(frozen).await;
                members.thaw(member);
                members.primary().await;
            }
            Fault::KillServe => {
                self.serve[0].0.signal("KILL");
                let killed = std::mem::replace(&mut self.serve[0], serve(&self.arguments).await);
                self.outputs.push(killed.0.output());
                self.serve.rotate_left(1);
                *stage.addresses.lock().expect("nobody panics") = self.addresses();
            }
            Fault::KillWork => {
                self.work.signal("KILL");
                let killed = std::mem::replace(&mut self.work, work(&self.arguments));
                self.outputs.push(killed.output());
            }
        }
    }

    /// Ends all processes as an operator would; returns their outputs.
    pub(super) async fn stop(self) -> Vec<String> {
        let mut outputs = self.outputs;
        let serve = self.serve.into_iter().map(|(service, _)| service);
        for mut service in serve.chain([self.work]) {
            service.signal("TERM");
            let status = service.ended().await;
            assert!(status.success(), "{}", service.output());
            outputs.push(service.output());
        }
        outputs
    }
}

/// Starts a process that serves; returns it with its address once it is ready.
async fn serve(arguments: &[String]) -> (Service, String) {
    let mut all = vec![
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--trusted-proxy",
        "127.0.0.0/8",
        "--cursor-secret",
        "0123456789abcdef",
        "--token-secret",
        TOKEN_SECRET,
    ];
    all.extend(arguments.iter().map(String::as_str));
    let service = Service::start(&all);
    let address = service.listening().await;
    ready(&address).await;
    (service, address)
}

fn work(arguments: &[String]) -> Service {
    let arguments = arguments.iter().map(String::as_str);
    let all: Vec<&str> = ["work"].into_iter().chain(arguments).collect();
    Service::start(&all)
}

async fn ready(address: &str) {
    let ready = async || {
        let reply = http::get(address, "/health/ready").await.ok()?;
        (reply.status == 200).then_some(())
    };
    eventually("a process that is ready", LONG, ready).await;
}
