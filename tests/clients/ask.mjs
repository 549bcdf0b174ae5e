// Sends a query without any library.

export async function ask(service, query, variables = {}) {
  const response = await fetch(service, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
}
