// @ts-check
// Signing in at an identity provider: OpenID Connect, with an authorization code and PKCE (RFC 7636).
import { first } from "./first.js";
import { actAs, become, endSession, person } from "./session.js";

/** @typedef {{ state: string, nonce: string, verifier: string, back: string }} Attempt */

/** Where the sign-in that has begun is kept, for this tab. */
const KEY = "vitrine.login";
/** How long before its end a token is replaced, at most; a fifth of its lifetime if that is less. */
const MARGIN = 60_000;
/** Timers of browsers do not run for longer. */
const MAX_TIMER = 2_147_483_647;
const MAX_LABEL = 60;
const UNAVAILABLE = "The identity provider of this shop cannot be reached at the moment.";
/** What the errors of identity providers mean (RFC 6749 and OpenID Connect Core).
 * @type {Record<string, string>} */
const MEANINGS = {
  access_denied: "The sign-in was cancelled, or the identity provider does not let you in.",
  server_error: "The identity provider has a problem. Try again in a minute.",
  temporarily_unavailable: "The identity provider is busy. Try again in a minute.",
  invalid_grant: "The sign-in has taken too long, or was used before.",
};

export const provider = first.login ?? null;

/** Why nobody is signed in: in our words, and in those of the identity provider. */
export class LoginError extends Error {
  /** @param {string} message
   * @param {string} [detail]
   * @param {boolean} [final] whether the provider has decided; otherwise trying again may help */
  constructor(message, detail = "", final = true) {
    super(message);
    this.detail = detail;
    this.final = final;
  }
}

/** @param {string | null | undefined} code
 * @param {unknown} description */
function refused(code, description) {
  const words = typeof description === "string" ? description.slice(0, 300) : "";
  const detail = [code, words].filter(Boolean).join(": ");
  return new LoginError(MEANINGS[code ?? ""] ?? "The identity provider has refused the sign-in.", detail);
}

/** The first page of this part of the site. */
const home = () => (location.pathname.startsWith("/console") || first.storefront === false ? "/console" : "/");
const callback = () => `${location.origin}/signed-in`;

/** @param {Uint8Array} bytes */
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Goes to the identity provider, from where the visitor returns to this page.
 * @param {string} [back] */
export async function start(back = location.pathname + location.search + location.hash) {
  if (!provider?.ready) throw new LoginError(UNAVAILABLE);
  if (!crypto.subtle) throw new LoginError("Browsers can only sign in at an address with https.");
  const attempt = { state: random(), nonce: random(), verifier: random(), back };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(attempt));
  } catch {
    throw new LoginError("This browser does not let the page keep what it needs to sign in.");
  }
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier));
  go(provider.authorization, {
    response_type: "code",
    client_id: provider.clientId,
    redirect_uri: callback(),
    scope: provider.scope,
    audience: provider.audience,
    resource: provider.resource,
    // Without consent, providers leave this scope out without a word (OpenID Connect Core, 11).
    prompt: provider.scope.split(" ").includes("offline_access") ? "consent" : null,
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  });
}

/** @param {string} address
 * @param {Record<string, string | null | undefined>} parameters */
function go(address, parameters) {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value);
  location.assign(url);
}

/** Reads the answer of the identity provider from the address, and takes it out of there.
 * @returns {Promise<string>} the address of the page on which the visitor began */
export async function finish() {
  if (!provider?.ready) throw new LoginError(UNAVAILABLE);
  const answer = new URLSearchParams(location.search);
  history.replaceState(null, "", location.pathname);
  const attempt = begun(answer.get("state"));
  const issuer = answer.get("iss");
  if (issuer ? issuer !== provider.issuer : provider.namesIssuer) throw new LoginError("The answer is not from the identity provider of this shop.");
  if (answer.has("error")) throw refused(answer.get("error"), answer.get("error_description"));
  const tokens = await request({
    grant_type: "authorization_code",
    code: answer.get("code") ?? "",
    redirect_uri: callback(),
    code_verifier: attempt.verifier,
  });
  const claims = claimsOf(tokens.id_token);
  const audience = [claims?.aud].flat();
  if (!claims || claims.nonce !== attempt.nonce || claims.iss !== provider.issuer || !audience.includes(provider.clientId)) {
    throw new LoginError("The identity provider has answered another sign-in than this one.");
  }
  if (String(tokens.access_token).split(".").length !== 3) {
    throw new LoginError("The identity provider has issued a token that this shop cannot read.", "The access token is not a JSON Web Token.");
  }
  const label = [claims.name, claims.preferred_username, claims.email].find((one) => one && typeof one === "string");
  actAs({ label: label?.slice(0, MAX_LABEL) ?? "Signed in", subject: "", token: tokens.access_token, login: kept(tokens, null) });
  return within(attempt.back);
}

/** The sign-in that this answer belongs to. It is answered once.
 * @param {string | null} state
 * @returns {Attempt} */
function begun(state) {
  const attempt = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  if (!state || attempt?.state !== state) {
    throw new LoginError("This tab has not begun this sign-in, or has finished it already.");
  }
  sessionStorage.removeItem(KEY);
  return attempt;
}

/** An address of this site.
 * @param {string} path */
function within(path) {
  const url = new URL(path, location.origin);
  return url.origin === location.origin && url.pathname !== location.pathname ? url.href : home();
}

/** What an ID token says. It comes from the token endpoint itself, so its signature need not be verified
 * (OpenID Connect Core, 3.1.3.7).
 * @param {unknown} token
 * @returns {any} */
function claimsOf(token) {
  try {
    const part = String(token).split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (one) => one.charCodeAt(0))));
  } catch {
    return null;
  }
}

/** @param {any} tokens
 * @param {import("./session.js").Kept | null} last
 * @returns {import("./session.js").Kept} */
function kept(tokens, last) {
  const lifetime = Number(tokens.expires_in) * 1_000 || 0;
  return {
    id: last?.id ?? random(),
    refresh: tokens.refresh_token ?? last?.refresh ?? null,
    idToken: tokens.id_token ?? last?.idToken ?? null,
    expires: lifetime && Date.now() + lifetime,
    lifetime,
  };
}

/** Asks the token endpoint.
 * @param {Record<string, string>} parameters
 * @returns {Promise<any>} the tokens */
async function request(parameters) {
  const { token, clientId, resource } = /** @type {import("./first.js").Provider} */ (provider);
  let response, answer;
  try {
    const body = new URLSearchParams({ ...parameters, client_id: clientId });
    if (resource) body.set("resource", resource);
    response = await fetch(token, { method: "POST", body, headers: { accept: "application/json" }, credentials: "omit", redirect: "error" });
    answer = await response.json();
  } catch {
    throw new LoginError(UNAVAILABLE, "", false);
  }
  if (response.ok && answer?.access_token && String(answer.token_type).toLowerCase() === "bearer") return answer;
  const error = refused(answer?.error, answer?.error_description);
  throw response.status >= 500 ? new LoginError(UNAVAILABLE, error.detail, false) : error;
}

/** How often the token was replaced since the visitor last did something. */
let unused = 0;
/** The end of a token that could not be replaced before. */
let unreached = 0;
/** @type {Promise<boolean> | null} */
let renewing = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Whether the token may be replaced: once while nobody does anything.
 * @param {import("./session.js").Kept} login */
const mayRenew = (login) => Boolean(login.refresh && provider?.ready) && unused === 0;

/** Replaces the token with the refresh token. Many may ask for it; it is done once.
 * @returns {Promise<boolean>} whether there is a new one */
export function renew() {
  renewing ??= replace().finally(() => {
    renewing = null;
    follow();
  });
  return renewing;
}

async function replace() {
  const who = person.peek();
  const login = who?.login;
  if (!who || !login?.refresh || !mayRenew(login)) return false;
  unused += 1;
  const isSame = () => person.peek()?.login?.refresh === login.refresh;
  try {
    const tokens = await request({ grant_type: "refresh_token", refresh_token: login.refresh });
    if (!isSame()) return false;
    become({ ...who, token: tokens.access_token, login: kept(tokens, login) });
    return true;
  } catch (error) {
    if (!isSame()) return false;
    if (error instanceof LoginError && !error.final && Date.now() < login.expires) {
      unused = 0;
      unreached = login.expires;
    } else {
      endSession(error instanceof LoginError && !error.final ? UNAVAILABLE : "The identity provider has ended your session.");
    }
    return false;
  }
}

/** The token of the visitor, replaced if it has expired. */
export async function freshToken() {
  const login = person.peek()?.login;
  if (login?.expires && login.expires <= Date.now() && mayRenew(login)) await renew();
  return person.peek()?.token;
}

/** Replaces the token shortly before it expires, or says that the session is over. */
function follow() {
  clearTimeout(timer);
  const login = person.peek()?.login;
  if (!login?.expires) return;
  const left = login.expires - Date.now();
  const early = mayRenew(login) && unreached !== login.expires ? Math.min(MARGIN, login.lifetime / 5) : 0;
  if (left > early) timer = setTimeout(follow, Math.min(left - early, MAX_TIMER));
  else if (mayRenew(login)) renew();
  else endSession(login.refresh ? "Your session is over, because this tab was not used." : "Your session is over.");
}

/** The visitor does something. A session that is over by then stays so. */
function used() {
  if (!unused) return;
  const login = person.peek()?.login;
  if (login?.expires && login.expires <= Date.now()) return follow();
  unused = 0;
  follow();
}

for (const event of ["pointerdown", "keydown", "wheel", "touchmove"]) addEventListener(event, used, { capture: true, passive: true });
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && used());
follow();

/** Forgets the tokens, and ends the session at the identity provider if it was begun there. */
export function leave() {
  const login = person.peek()?.login;
  clearTimeout(timer);
  actAs(null);
  if (!login || !provider?.endSession) return;
  const back = location.origin + home();
  // Cognito calls the last one `logout_uri`; others ignore what they do not know.
  go(provider.endSession, { id_token_hint: login.idToken, client_id: provider.clientId, post_logout_redirect_uri: back, logout_uri: back });
}
