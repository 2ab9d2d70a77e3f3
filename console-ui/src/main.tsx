import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { watch } from "./api/attention";
import { Trouble } from "./api/client";
import { App } from "./app";
import { apply } from "./lib/theme";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/controls.css";
import "./styles/table.css";

apply();
watch(window);

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // What was refused is refused again; what could not be reached may be there in a moment.
      retry: (failures, error) =>
        !(error instanceof Trouble && error.status < 500 && error.status > 0) && failures < 2,
      refetchOnWindowFocus: false,
    },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
