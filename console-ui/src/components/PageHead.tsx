// The head of a page: what it is, what one sees there, and what can be done with all of it.

import type { ReactNode } from "react";

interface Props {
  title: string;
  about: string;
  children?: ReactNode;
}

export function PageHead({ title, about, children }: Props) {
  return (
    <header>
      <div>
        <h1>{title}</h1>
        <p>{about}</p>
      </div>
      {children}
    </header>
  );
}
