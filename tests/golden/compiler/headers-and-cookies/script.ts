/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.reports.getReport({ "X-Tenant-Id": "00000000-0000-4000-8000-000000000000" });
}
export async function example1() {
  return await client.reports.checkReport();
}
export {};
