// A few line icons, drawn by hand on a grid of 16.

const PATHS = {
  fleet: "M2 3.5h12M2 8h12M2 12.5h12",
  servers: "M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h.01M5 11.5h.01",
  history: "M8 4.5V8l2.5 1.5M2.5 8a5.5 5.5 0 1 0 1.8-4.1M2.5 2.5V5H5",
  recipes: "M8 2.5l1.7 3.4 3.8.6-2.7 2.6.6 3.8L8 11.1l-3.4 1.8.6-3.8L2.5 6.5l3.8-.6z",
  tree: "M3 2.5v8.5a1.5 1.5 0 0 0 1.5 1.5H7M3 6.5h4M9 5h4.5v3H9zM9 11h4.5v3H9z",
  audit: "M4 1.8h6l2.5 2.5v9.9H4zM6 7h4.5M6 10h4.5",
  doctor: "M2 8.5h3l1.5-4 3 7.5 1.5-3.5h3",
  users:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5a4.5 4.5 0 0 1 9 0M11 3a2.3 2.3 0 0 1 0 4.4M12.3 9.6a4.4 4.4 0 0 1 2.2 3.9",
  help: "M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 11.4v.01M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12z",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  more: "M8 3.2v.01M8 8v.01M8 12.8v.01",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  system: "M2 3h12v8H2zM6 13.5h4",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14a5.5 5.5 0 0 1 11 0",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  check: "M3 8.5l3.5 3.5L13 4.5",
  play: "M4.5 2.8v10.4L13 8z",
  refresh: "M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 2v3H10.5",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7L14 14",
  back: "M9.5 3L4.5 8l5 5",
  next: "M6.5 3l5 5-5 5",
  language: "M2 4h7M5.5 2.5V4M8 4c-.6 2.8-2.8 5-5.5 6M3.5 6.5C4.6 8.4 6.2 9.6 8 10M8 14l3-7.5L14 14M9 11.8h4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      className="icon-svg"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.4 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
