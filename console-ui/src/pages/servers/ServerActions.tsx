// What can be done to a server as a whole: it asks before anything that takes work away.

import { useLocation } from "wouter";
import { answer, api } from "../../api/client";
import type { Server } from "../../api/types";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Menu } from "../../components/Menu";
import { useWords } from "../../i18n/language";
import { servers as words } from "../../i18n/servers";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";

type Counted = Pick<Server, "address" | "instances" | "disabled" | "jobs" | "draining">;

/** In a table they are a menu, and on the server's own page buttons. */
export function ServerActions({ server, buttons = false }: { server: Counted; buttons?: boolean }) {
  const t = useWords(words);
  const { name: registry, may, to } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  const [, go] = useLocation();
  if (!may("operator")) return null;
  const { address, instances } = server;
  const params = { path: { registry, address } };

  const enable = () => act(() => answer(api.POST("/api/r/{registry}/servers/{address}/enable", { params })));
  const disable = async () => {
    const asked = {
      title: t.askDisable(address),
      body: t.askDisableText(server.jobs),
      action: t.disable,
    };
    if (!(await confirm(asked))) return;
    await act(() => answer(api.POST("/api/r/{registry}/servers/{address}/disable", { params })));
  };
  const drain = async () => {
    const asked = { title: t.askDrain(address), body: t.askDrainText(instances), action: t.drain };
    if (!(await confirm(asked))) return;
    await act(() => answer(api.POST("/api/r/{registry}/servers/{address}/drain", { params })));
  };
  const undrain = () =>
    act(() => answer(api.POST("/api/r/{registry}/servers/{address}/undrain", { params })));
  const shutdown = async () => {
    const asked = { title: t.askShutdown(address), body: t.askShutdownText(instances), action: t.shutdown };
    if (!(await confirm({ ...asked, danger: true }))) return;
    await act(() => answer(api.POST("/api/r/{registry}/servers/{address}/shutdown", { params })));
  };
  const remove = async () => {
    const asked = { title: t.askRemove(address), body: t.askRemoveText, action: t.remove, danger: true };
    if (!(await confirm(asked))) return;
    const done = await act(() => answer(api.DELETE("/api/r/{registry}/servers/{address}", { params })));
    if (done) go(to("servers"));
  };

  const items: { title: string; onChoose: () => void; danger?: boolean }[] = [
    ...(server.disabled > 0 ? [{ title: t.enable, onChoose: enable }] : []),
    ...(server.disabled < server.jobs ? [{ title: t.disable, onChoose: disable }] : []),
    ...(instances > 0 ? [{ title: t.drain, onChoose: drain }] : []),
    ...(server.draining > 0 ? [{ title: t.undrain, onChoose: undrain }] : []),
    ...(instances > 0 ? [{ title: t.shutdown, onChoose: shutdown, danger: true }] : []),
    ...(instances === 0 ? [{ title: t.remove, onChoose: remove, danger: true }] : []),
  ];
  if (buttons) {
    return (
      <div className="row">
        {items.map((item) => (
          <Button key={item.title} kind={item.danger ? "danger" : "plain"} onClick={item.onChoose}>
            {item.title}
          </Button>
        ))}
      </div>
    );
  }
  return <Menu small icon="more" label={t.actions(address)} items={items} />;
}
