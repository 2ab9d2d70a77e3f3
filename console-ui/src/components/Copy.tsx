import { useState } from "react";
import { common } from "../i18n/common";
import { useWords } from "../i18n/language";
import { Button } from "./Button";

/** A button that puts a text on the clipboard. */
export function Copy({ text, label }: { text: string; label?: string }) {
  const w = useWords(common);
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without TLS there is no clipboard: the old way.
      const place = document.createElement("textarea");
      place.value = text;
      document.body.append(place);
      place.select();
      document.execCommand("copy");
      place.remove();
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Button
      kind="quiet"
      small
      icon={copied ? "check" : "copy"}
      aria-label={copied ? w.copied : (label ?? w.copy)}
      onClick={copy}
    />
  );
}
