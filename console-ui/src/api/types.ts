// What the API speaks of, by the names it has there.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type About = Schemas["About"];
export type Session = Schemas["Session"];
export type SeenRegistry = Schemas["SeenRegistry"];
export type Problem = Schemas["Problem"];
export type Statistics = Schemas["Statistics"];
export type Brief = Schemas["Brief"];
export type Fleet = Schemas["Fleet"];
export type JobRow = Schemas["JobRow"];
export type LiveRow = Schemas["LiveRow"];
export type JobPage = Schemas["JobPage"];
export type Member = Schemas["Member"];
export type Item = Schemas["Item"];
export type ShardMap = Schemas["ShardMap"];
export type Timeline = Schemas["Timeline"];
export type Preview = Schemas["Preview"];
export type Move = Schemas["Move"];
export type Diff = Schemas["Diff"];
export type Next = Schemas["Next"];
export type Done = Schemas["Done"];
export type BulkDone = Schemas["BulkDone"];
export type JobsChanged = Schemas["JobsChanged"];
export type JobChanged = Schemas["JobChanged"];
export type Hello = Schemas["Hello"];

export type Server = Schemas["Server"];
export type Servers = Schemas["Servers"];
export type ServerPage = Schemas["ServerPage"];
export type ServerJob = Schemas["ServerJob"];
export type Fire = Schemas["Fire"];
export type Attempt = Schemas["Attempt"];
export type Try = Schemas["Try"];
export type TracedRun = Schemas["TracedRun"];
export type TracedState = Schemas["TracedState"];
export type Count = Schemas["Count"];
export type Note = Schemas["Note"];
export type Why = Schemas["Why"];
export type Finding = Schemas["Finding"];
export type Cost = Schemas["Cost"];
export type Mastery = Schemas["Mastery"];
export type Slices = Schemas["Slices"];
export type TreeNode = Schemas["TreeNode"];
export type User = Schemas["User"];
export type OpenSession = Schemas["OpenSession"];

export type Role = "viewer" | "operator" | "author" | "admin";
export const ROLES: readonly Role[] = ["viewer", "operator", "author", "admin"];
