// @ts-check
// What came with the page.

/** How visitors sign in at an identity provider. Without `ready` it is not known yet where.
 * @typedef {{ ready: boolean, issuer: string, clientId: string, scope: string, audience: string | null, resource: string | null,
 *   authorization: string, token: string, endSession: string | null, namesIssuer: boolean }} Provider */

/** `pictures` is what addresses of uploaded pictures begin with; null if the service takes none.
 * @type {{ asked: import("./graphql.js").Asked[], graphiql: boolean, actAs: boolean, storefront?: boolean,
 *   login?: Provider | null, pictures?: string | null }} */
export const first = JSON.parse(document.getElementById("first")?.textContent ?? "{}");
