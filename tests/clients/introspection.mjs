// A schema that is built from introspection, compared with the one that the service prints.

import assert from "node:assert/strict";
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from "graphql";
import { ask } from "./ask.mjs";

const options = {
  descriptions: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  oneOf: true,
};

export function* introspection({ service, sdl }) {
  yield [
    "the schema can be rebuilt",
    async () => {
      const { data, errors } = await ask(service, getIntrospectionQuery(options));
      assert.equal(errors, undefined);
      const rebuilt = printSchema(lexicographicSortSchema(buildClientSchema(data)));
      const printed = printSchema(lexicographicSortSchema(buildSchema(sdl)));
      assert.equal(rebuilt, printed);
    },
  ];
}
