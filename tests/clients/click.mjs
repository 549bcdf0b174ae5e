// A click on a value of a facet: its filter is sent back as the library returned it.

export const FACETS = `
  query Facets {
    products(first: 1) {
      totalCount { value }
      facets(keys: ["@brand", "color"]) { key values { label count filter { ...Choice } } }
    }
  }
  fragment Choice on FacetFilter {
    category brand country price { gte lte } rating { gte }
    specs { key qualifier text { eq } number { eq gte lte gt lt unit } boolean date { gte lte gt lt } }
  }`;

export const CLICK = `
  query Click($chosen: ProductFilterInput!) {
    products(filter: { and: [$chosen] }) { totalCount { value } }
  }`;

// Calls `count` with the filter of every value, and compares the count with the promised one.
export async function clickAll(assert, facets, count) {
  const values = facets.flatMap((facet) => facet.values);
  assert(values.length > 1, "there are values to click on");
  for (const { label, count: promised, filter } of values) {
    assert.equal(await count(filter), promised, label);
  }
}
