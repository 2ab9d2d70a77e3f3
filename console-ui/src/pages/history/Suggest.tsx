// A text to filter by, asked for when typing rests, with those suggested that are known.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { answer, api } from "../../api/client";
import { Field } from "../../components/Field";
import { history as words } from "../../i18n/history";
import { useWords } from "../../i18n/language";
import { useRested } from "../../lib/late";
import { useRegistry } from "../../shell/registry";

interface Props {
  value: string;
  onChange: (text: string) => void;
}

/** A job by its name. */
export function JobFilter(props: Props) {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const names = async (search: string) => {
    const query = { search: search || undefined, limit: 50 };
    const found = await answer(api.GET("/api/r/{registry}/jobs", { params: { path: { registry }, query } }));
    return found.jobs.map((job) => job.name);
  };
  return <Suggest {...props} of="jobs" label={t.job} placeholder={t.anyJob} names={names} />;
}

/** A server by its address, or one of its processes by its id. */
export function ServerFilter({ label, ...props }: Props & { label?: string }) {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const names = async () => {
    const found = await answer(api.GET("/api/r/{registry}/servers", { params: { path: { registry } } }));
    return found.servers.map((server) => server.address);
  };
  return (
    <Suggest {...props} of="servers" label={label ?? t.server} placeholder={t.anyServer} names={names} />
  );
}

interface SuggestProps extends Props {
  of: string;
  label: string;
  placeholder: string;
  names: (text: string) => Promise<readonly string[]>;
}

function Suggest({ value, onChange, of, label, placeholder, names }: SuggestProps) {
  const { name: registry } = useRegistry();
  const list = useId();
  const [text, setText] = useState(value);
  const rested = useRested(text, 400);
  useEffect(() => setText(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked for when typing rests, and only then
  useEffect(() => {
    if (rested !== value && rested === text) onChange(rested);
  }, [rested]);
  const known = useQuery({
    queryKey: [registry, of, "names", rested],
    queryFn: () => names(rested),
    staleTime: 30_000,
  });
  return (
    <Field label={label}>
      {(props) => (
        <>
          <input
            {...props}
            type="search"
            className="input job"
            list={list}
            placeholder={placeholder}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <datalist id={list}>
            {known.data?.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
