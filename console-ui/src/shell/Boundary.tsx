import { Component, type ReactNode } from "react";
import { Button } from "../components/Button";

interface Props {
  title: string;
  again: string;
  children: ReactNode;
}

/** Where a page breaks, the rest stays: what went wrong is said in its place. */
export class Boundary extends Component<Props, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="page">
        <div className="note bad" role="alert">
          <strong>{this.props.title}</strong>
          <p>{this.state.error.message}</p>
          {/* What could not be loaded is remembered as such until the page is loaded anew. */}
          <Button onClick={() => location.reload()}>{this.props.again}</Button>
        </div>
      </div>
    );
  }
}
