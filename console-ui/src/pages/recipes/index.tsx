// Masters and slices: who acts for which service, and who has which slice of what is shared out.

import { useWords } from "../../i18n/language";
import { recipes as words } from "../../i18n/recipes";
import { Masters } from "./Masters";
import { SlicesCard } from "./Slices";
import "./recipes.css";

export default function Recipes() {
  const t = useWords(words);
  return (
    <div className="page">
      <header>
        <h1>{t.title}</h1>
      </header>
      <Masters />
      <SlicesCard />
    </div>
  );
}
