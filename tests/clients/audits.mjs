// The audits of GraphQL over HTTP: everything that servers MUST and SHOULD do.

import { serverAudits } from "graphql-http";

export function* audits({ service }) {
  for (const audit of serverAudits({ url: service, fetchFn: fetch })) {
    if (audit.name.startsWith("MAY ")) continue;
    yield [
      `${audit.id} ${audit.name}`,
      async () => {
        const result = await audit.fn();
        if (result.status !== "ok") throw new Error(result.reason);
      },
    ];
  }
}
