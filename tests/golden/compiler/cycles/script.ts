/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.nodes.createNode({ name: "name" });
}
export async function example1() {
  return await client.nodes.getKnot();
}
export async function example2() {
  return await client.nodes.putUnion({ body: "body" });
}
export {};
