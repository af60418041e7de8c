/**
 * Catches errors that a page throws while it renders, so that the rest stays usable.
 */
import { Component } from 'react';
import type { ReactNode } from 'react';
import { hasMemory } from '../session/memory.ts';
import { Note } from './note.tsx';
import { PageNotLoadedError, reloadIfAnswered } from './load-page.ts';
import { PageHeader } from './page-header.tsx';
import { ErrorState } from './states.tsx';
import { texts } from '../texts/common.ts';

interface Props {
  readonly children: ReactNode;
  /** The page that is shown: an error of one page does not affect the next. */
  readonly at?: string;
}

interface State {
  readonly error: Error | undefined;
  readonly at: string | undefined;
}

const RELOAD_AFTER_MS = 5_000;

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined, at: this.props.at };
  #lookingAgain: ReturnType<typeof setInterval> | undefined;

  static getDerivedStateFromError(error: unknown): Pick<State, 'error'> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps({ at }: Props, state: State): State | null {
    return at === state.at ? null : { error: undefined, at };
  }

  override componentDidUpdate(): void {
    const { error } = this.state;
    clearInterval(this.#lookingAgain);
    // A page that could not be loaded is loaded when the service is back, unless a reload would lose something.
    if (error instanceof PageNotLoadedError && !hasMemory())
      this.#lookingAgain = setInterval(() => void reloadIfAnswered(), RELOAD_AFTER_MS);
  }

  override componentWillUnmount(): void {
    clearInterval(this.#lookingAgain);
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    if (error instanceof PageNotLoadedError) {
      return (
        <>
          <PageHeader title={texts.pageNotLoaded} />
          <ErrorState error={error} onRetry={() => void reloadIfAnswered()} />
          {hasMemory() ? <Note>{texts.reloadLoses}</Note> : null}
        </>
      );
    }
    return <ErrorState error={error} onRetry={() => this.setState({ error: undefined })} />;
  }
}
