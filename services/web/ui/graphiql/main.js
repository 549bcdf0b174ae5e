// @ts-check
// Starts GraphiQL, with the operation of the address if there is one.
/** @type {any} */
const { GraphiQL, React, ReactDOM } = window;

const parameters = new URLSearchParams(location.hash.slice(1));
const url = new URL("/graphql", location.href);
const socket = new URL(url);
socket.protocol = url.protocol === "https:" ? "wss:" : "ws:";
const fetcher = GraphiQL.createFetcher({ url: url.href, subscriptionUrl: socket.href });
const page = React.createElement(GraphiQL, {
  fetcher,
  defaultEditorToolsVisibility: true,
  query: parameters.get("query") ?? undefined,
  variables: parameters.get("variables") ?? undefined,
  defaultQuery: "{\n  products(first: 3, sort: [{ key: POPULARITY }]) {\n    nodes { name kind ratingStats { count average } }\n  }\n}\n",
});
ReactDOM.createRoot(document.getElementById("graphiql")).render(page);
