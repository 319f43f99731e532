/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.a.open();
}
export async function example1() {
  return await client.a.closed();
}
export async function example2() {
  return await client.a.either();
}
export {};
