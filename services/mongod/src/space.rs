//! Free disk space, as reported by `df`.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use crate::command::run;

/// Returns the free space for this user on the file system of `path`, in MiB; `None` if `df` fails,
/// which is not treated as an error.
pub(crate) async fn free_mib(path: &Path) -> Option<u64> {
    let mut command = Command::new("df");
    command.arg("-Pk").arg(path);
    let output = run(&mut command, Duration::from_secs(5)).await.ok()?;
    available_kib(&String::from_utf8_lossy(&output.stdout)).map(|kib| kib / 1024)
}

/// Reads the number before the percentage; the names around it may contain spaces.
fn available_kib(table: &str) -> Option<u64> {
    let cells: Vec<&str> = table.lines().last()?.split_whitespace().collect();
    let percentage = cells.iter().rposition(|cell| is_percentage(cell))?;
    cells.get(percentage.checked_sub(1)?)?.parse().ok()
}

fn is_percentage(cell: &str) -> bool {
    cell.strip_suffix('%')
        .is_some_and(|number| number.parse::<u8>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_posix_output_of_df_is_read() {
        let heading = "Filesystem 1024-blocks Used Available Capacity Mounted on\n";
        let read = |row: &str| available_kib(&format!("{heading}{row}"));
        assert_eq!(
            read("/dev/vda 264212084 13651576 81634312 15% /"),
            Some(81_634_312)
        );
        assert_eq!(read("//nas/my share 100 90 10 90% /mnt/my share"), Some(10));
        assert_eq!(read(""), None);
    }

    #[tokio::test]
    async fn free_space_is_known_unless_the_path_is_missing() {
        assert!(free_mib(Path::new("/")).await.is_some());
        assert_eq!(free_mib(Path::new("/nonexistent")).await, None);
    }
}
