// The server specifications of Relay: object identification and cursor connections. There is no
// maintained suite, so these checks read the schema as the specifications say.

import assert from "node:assert/strict";
import { buildSchema, getNamedType, isInputObjectType, isInterfaceType, isListType } from "graphql";
import { isNonNullType, isObjectType } from "graphql";
import { ask } from "./ask.mjs";

const text = (type) => String(type);

export function* relay({ service, sdl, product }) {
  const schema = buildSchema(sdl);
  const types = Object.values(schema.getTypeMap());
  const query = schema.getQueryType().getFields();

  yield [
    "Node has an id, and node returns one",
    async () => {
      const node = schema.getType("Node");
      assert(isInterfaceType(node));
      assert.deepEqual(Object.keys(node.getFields()), ["id"]);
      assert.equal(text(node.getFields().id.type), "ID!");
      assert.equal(text(query.node.type), "Node");
      assert.deepEqual(query.node.args.map((arg) => `${arg.name}: ${arg.type}`), ["id: ID!"]);
      assert.deepEqual(query.nodes.args.map((arg) => `${arg.name}: ${arg.type}`), ["ids: [ID!]!"]);
      assert(text(query.nodes.type).startsWith("[Node]"));
    },
  ];

  yield [
    "an object that is asked for again by its id is the same",
    async () => {
      const found = await ask(
        service,
        `query ($slug: String!) { product(slug: $slug) { __typename id name category { __typename id name } } }`,
        { slug: product },
      );
      const { category, ...itself } = found.data.product;
      for (const object of [itself, category]) {
        const again = await ask(
          service,
          `query ($id: ID!) { node(id: $id) { __typename id ... on ${object.__typename} { name } } }`,
          { id: object.id },
        );
        assert.deepEqual(again.data.node, object);
      }
    },
  ];

  yield [
    "PageInfo has the four fields",
    async () => {
      const fields = schema.getType("PageInfo").getFields();
      const types = Object.fromEntries(Object.values(fields).map((f) => [f.name, text(f.type)]));
      assert.equal(types.hasNextPage, "Boolean!");
      assert.equal(types.hasPreviousPage, "Boolean!");
      assert.equal(types.startCursor, "String");
      assert.equal(types.endCursor, "String");
    },
  ];

  yield [
    "connections have edges with nodes and cursors",
    async () => {
      const connections = types.filter((type) => type.name.endsWith("Connection"));
      assert(connections.length > 0);
      for (const connection of connections) {
        assert(isObjectType(connection), connection.name);
        const { edges, pageInfo } = connection.getFields();
        assert.equal(text(pageInfo.type), "PageInfo!", connection.name);
        const list = isNonNullType(edges.type) ? edges.type.ofType : edges.type;
        assert(isListType(list), connection.name);
        const { node, cursor } = getNamedType(edges.type).getFields();
        assert(!isListType(isNonNullType(node.type) ? node.type.ofType : node.type));
        assert.equal(text(cursor.type), "String!", connection.name);
      }
    },
  ];

  yield [
    "fields that return connections can be paged in both directions",
    async () => {
      for (const type of types.filter((type) => isObjectType(type) && !type.name.startsWith("__"))) {
        for (const field of Object.values(type.getFields())) {
          if (!getNamedType(field.type).name.endsWith("Connection")) continue;
          const args = Object.fromEntries(field.args.map((arg) => [arg.name, text(arg.type)]));
          const { first, after, last, before } = args;
          const place = `${type.name}.${field.name}`;
          assert.deepEqual([first, after, last, before], ["Int", "String", "Int", "String"], place);
        }
      }
    },
  ];

  yield [
    "pages follow each other",
    async () => {
      const page = (after) =>
        ask(
          service,
          `query ($after: String) { products(first: 2, after: $after, sort: [{ key: NAME }]) {
             edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
          { after },
        );
      const first = (await page(null)).data.products;
      assert.equal(first.pageInfo.hasNextPage, true);
      assert.equal(first.pageInfo.startCursor, first.edges[0].cursor);
      assert.equal(first.pageInfo.endCursor, first.edges[1].cursor);
      const second = (await page(first.pageInfo.endCursor)).data.products;
      const ids = [...first.edges, ...second.edges].map((edge) => edge.node.id);
      assert.equal(new Set(ids).size, ids.length);
    },
  ];

  yield [
    "mutations take one input and return a payload",
    async () => {
      for (const field of Object.values(schema.getMutationType().getFields())) {
        assert.deepEqual(field.args.map((arg) => arg.name), ["input"], field.name);
        assert(isNonNullType(field.args[0].type), field.name);
        assert(isInputObjectType(getNamedType(field.args[0].type)), field.name);
        assert(getNamedType(field.type).name.endsWith("Payload"), field.name);
      }
    },
  ];
}
