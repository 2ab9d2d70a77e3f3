// Settings that make no sense are not changed one by one: all of them are given anew.

import { type ReactNode, useState } from "react";
import { answer, api } from "../../../api/client";
import { Button } from "../../../components/Button";
import { useConfirm } from "../../../components/Confirm";
import { useWords } from "../../../i18n/language";
import { settings } from "../../../i18n/settings";
import { useAct } from "../../../shell/act";
import { useRegistry } from "../../../shell/registry";
import { type Draft, edited, type Property } from "./form";
import { Groups } from "./Groups";

interface Props {
  name: string;
  trouble: ReactNode;
  properties: Record<string, Property>;
  groups: readonly { title: string; names: readonly string[] }[];
}

export function Replacement({ name, trouble, properties, groups }: Props) {
  const w = useWords(settings);
  const { name: registry, may } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  const defaults = Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, each.default]));
  const [draft, setDraft] = useState<Draft>({});
  if (!may("author")) return trouble;

  const replace = async () => {
    if (
      !(await confirm({ title: w.replaceTitle(name), body: w.replaceBody, action: w.replace, danger: true }))
    )
      return;
    const wish = { params: { path: { registry, job: name } }, body: { settings: draft } };
    await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/config/replace", wish)));
  };
  return (
    <>
      {trouble}
      <p className="note">{w.replaceWhy}</p>
      <Groups
        {...{ properties, groups, draft }}
        value={(each) => draft[each] ?? (each in draft ? null : defaults[each])}
        readOnly={false}
        onChange={(each, next) => setDraft((all) => edited(all, defaults, each, next))}
      />
      {Object.keys(draft).length > 0 && (
        <div className="save-bar">
          <strong role="status">{w.changed(Object.keys(draft).length)}</strong>
          <span className="grow" />
          <Button onClick={() => setDraft({})}>{w.discard}</Button>
          <Button kind="primary" onClick={replace}>
            {w.replace}
          </Button>
        </div>
      )}
    </>
  );
}
