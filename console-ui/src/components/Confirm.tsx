// Dangerous things are asked about first, in words that say what will happen.

import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from "react";
import { common } from "../i18n/common";
import { useWords } from "../i18n/language";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Field } from "./Field";

export interface Question {
  title: string;
  body: ReactNode;
  /** What the button says that does it. */
  action: string;
  danger?: boolean;
  /** A name that has to be typed first. */
  typed?: string;
}

const Asking = createContext<(question: Question) => Promise<boolean>>(async () => false);

/** `if (await confirm({title, body, action, danger: true})) …` */
export function useConfirm() {
  return useContext(Asking);
}

export function ConfirmProvider({ children }: { children: ReactNode }) {
  const w = useWords(common);
  const [question, setQuestion] = useState<Question | null>(null);
  const [typed, setTyped] = useState("");
  const answer = useRef<(yes: boolean) => void>(() => {});

  const ask = useCallback(
    (asked: Question) =>
      new Promise<boolean>((resolve) => {
        answer.current(false);
        answer.current = resolve;
        setTyped("");
        setQuestion(asked);
      }),
    [],
  );
  const settle = (yes: boolean) => {
    setQuestion(null);
    answer.current(yes);
    answer.current = () => {};
  };
  const unsure = question?.typed !== undefined && typed !== question.typed;

  return (
    <Asking.Provider value={ask}>
      {children}
      {question && (
        <Dialog
          title={question.title}
          onClose={() => settle(false)}
          onSubmit={() => !unsure && settle(true)}
          footer={
            <>
              <Button onClick={() => settle(false)} autoFocus={!question.typed}>
                {w.cancel}
              </Button>
              <Button
                type="submit"
                kind="primary"
                className={question.danger ? "danger" : undefined}
                disabled={unsure}
              >
                {question.action}
              </Button>
            </>
          }
        >
          {typeof question.body === "string" ? <p>{question.body}</p> : question.body}
          {question.typed !== undefined && (
            <Field label={w.typeToConfirm(question.typed)}>
              {(props) => (
                <input
                  {...props}
                  className="input"
                  autoComplete="off"
                  value={typed}
                  onChange={(event) => setTyped(event.target.value)}
                />
              )}
            </Field>
          )}
        </Dialog>
      )}
    </Asking.Provider>
  );
}
