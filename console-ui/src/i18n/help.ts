import { words } from "./words";

export const help = words(
  {
    title: "Help",
    about: "What is where, and what the words mean.",
    where: "What is where",
    jobs: "How a job can be",
    shards: "How a shard can be",
    people: "Who may do what",
    keys: "Without a mouse",
    pages: {
      fleet:
        "Every job with its status, its next fire, how the last one came out and how late they were. Search, filter, or choose several and enable, disable, trigger or shut down all of them.",
      job: "A click on a job opens it: who owns and runs each shard, its last fires in time, its settings, its members, what would move if somebody came or left. Trigger it, run a fire once more, run a stretch of the past.",
      servers:
        "The machines, their processes and how much they have to do. Enable, disable, drain, shut down or remove one; or one job on it.",
      history:
        "What became of each shard of each fire: attempts, log, and why. Beside it what ElasticJob's own tables tell.",
      recipes: "Who is the master of a service and who has which slice. Another master is designated here.",
      tree: "The nodes of the registry, as they are. Nothing is changed there.",
      audit: "Who changed what, and what was refused.",
      doctor: "What is not as it should be, why that matters, and mending it.",
      users: "Accounts and sessions, for those who keep them.",
    },
    statuses: {
      OK: "Somebody is in it, and its shards belong to them.",
      SHARDING_FLAG: "A shard belongs to nobody who is there: it is being shared out anew.",
      DISABLED: "It does not fire: all its servers are disabled.",
      CRASHED: "No process is in it. It can be removed.",
    },
    states: {
      PENDING: "It waits for the next fire.",
      RUNNING: "It runs now.",
      SHARDING_FLAG: "It belongs to nobody who is there.",
      DISABLED: "It is left out of every fire.",
    },
    roles: {
      viewer: "looks.",
      operator: "besides triggers, runs again, enables, disables, drains, shuts down, designates, mends.",
      author: "besides changes settings and removes jobs.",
      admin: "of all registries besides keeps the accounts.",
    },
    keyboard: {
      tab: "goes from one thing to the next; the first stop leads past the navigation.",
      arrows:
        "walk through a table, the map of shards, the timeline and the tree; Home and End go to its ends.",
      enter: "opens a row; Space chooses it.",
      escape: "closes a dialog or a menu.",
    },
  },
  {
    title: "帮助",
    about: "各页面的内容，以及术语的含义。",
    where: "页面一览",
    jobs: "作业状态",
    shards: "分片状态",
    people: "角色权限",
    keys: "键盘操作",
    pages: {
      fleet:
        "全部作业：状态、下次触发、上次结果与延迟。可搜索、筛选，或选择多个作业统一启用、禁用、触发、终止。",
      job: "点击作业进入详情：各分片由谁持有和运行、最近的触发、配置、成员，以及成员增减时哪些分片会转移。可触发作业、重跑一次触发、补跑一段时间。",
      servers: "机器、其上的进程与负载。可启用、禁用、排空、停止、移除服务器，或只针对其上的一个作业。",
      history: "每次触发的每个分片的结果：尝试、日志与原因；以及 ElasticJob 自有数据表中的记录。",
      recipes: "各服务的主节点，以及切片由谁持有。可在此指定另一个主节点。",
      tree: "注册中心的节点原貌，只读。",
      audit: "谁做了什么更改，哪些被拒绝。",
      doctor: "哪里不正常、为何重要，以及如何修复。",
      users: "账户与会话，供账户管理员使用。",
    },
    statuses: {
      OK: "有进程参与，分片都有归属。",
      SHARDING_FLAG: "有分片不属于任何在线进程，正在重新分配。",
      DISABLED: "不再触发：其所有服务器都已禁用。",
      CRASHED: "没有进程参与，可以删除。",
    },
    states: {
      PENDING: "等待下一次触发。",
      RUNNING: "正在运行。",
      SHARDING_FLAG: "不属于任何在线进程。",
      DISABLED: "不参与任何触发。",
    },
    roles: {
      viewer: "查看。",
      operator: "另可触发、重跑、启用、禁用、排空、停止、指定主节点、修复。",
      author: "另可修改配置、删除作业。",
      admin: "所有注册中心的管理员另可管理账户。",
    },
    keyboard: {
      tab: "依次移到下一项；第一站可跳过导航。",
      arrows: "在表格、分片图、时间线和树中移动；Home 和 End 到两端。",
      enter: "打开一行；空格选中。",
      escape: "关闭对话框或菜单。",
    },
  },
);
