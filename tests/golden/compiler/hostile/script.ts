/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.proto.x1Alert1({ x: "x" });
}
export async function example1() {
  return await client.proto.toString_({ x: "x", proto: {}, "</script>": "</script>" });
}
export {};
