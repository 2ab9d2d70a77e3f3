import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SPAN, watch } from "../src/api/attention";

vi.stubGlobal("location", { href: "http://console.example/" });
const { manners } = await import("../src/api/client");

/** What a call says that is made now. */
function said(): string | null {
  const request = new Request("http://console.example/api/about");
  manners.onRequest?.({ request } as never);
  return request.headers.get("X-Shardwright-Unattended");
}

const page = new EventTarget();
watch(page);
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a call that follows a click, a key or a new address is somebody's", () => {
  for (const sign of ["pointerdown", "keydown", "wheel", "hashchange"]) {
    page.dispatchEvent(new Event(sign));
    expect(said()).toBe(null);
    vi.advanceTimersByTime(SPAN);
    expect(said()).toBe("1");
  }
});

test("a call that is made while nobody does anything says so, however many there are", () => {
  page.dispatchEvent(new Event("keydown"));
  vi.advanceTimersByTime(SPAN - 1);
  expect(said()).toBe(null);
  for (let poll = 0; poll < 3; poll++) {
    vi.advanceTimersByTime(5000);
    expect(said()).toBe("1");
  }
});
