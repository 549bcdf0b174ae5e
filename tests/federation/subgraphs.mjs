// The subgraphs of other teams: stock refers to products by id, offers by SKU.

import { readFileSync } from "node:fs";
import { buildSubgraphSchema } from "@apollo/subgraph";
import { parse } from "graphql";

const text = (name) => readFileSync(new URL(`${name}.graphql`, import.meta.url), "utf8");

// What these subgraphs know: `ids` and `reviews` are those of the running service.
export function subgraphs({ ids, reviews, skus, suppliers }) {
  const seller = { __typename: "Supplier", id: suppliers[0] };
  const offers = (sku) => [
    { price: { amount: `${sku.length}.50`, currency: "EUR" }, seller },
  ];
  const resolvers = {
    stock: {
      Product: {
        __resolveReference: ({ id }) => ({ id, inStock: ids.indexOf(id) + 1 }),
      },
      Review: {
        __resolveReference: ({ id }) => ({ id, translatedFrom: "no" }),
      },
      Query: {
        scarce: () => ids.map((id) => ({ id, inStock: ids.indexOf(id) + 1 })),
        translated: () => reviews.map((id) => ({ id, translatedFrom: "no" })),
      },
    },
    offers: {
      Product: {
        __resolveReference: ({ sku }) => ({ sku, offers: offers(sku) }),
      },
      Query: {
        onOffer: () => ({
          nodes: skus.map((sku) => ({ sku, offers: offers(sku) })),
          pageInfo: { hasNextPage: false, hasPreviousPage: false },
        }),
      },
    },
  };
  return Object.entries(resolvers).map(([name, resolvers]) => {
    const sdl = text(name);
    return { name, sdl, schema: buildSubgraphSchema({ typeDefs: parse(sdl), resolvers }) };
  });
}
