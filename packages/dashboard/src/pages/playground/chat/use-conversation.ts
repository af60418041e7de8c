/**
 * The state of a conversation: its turns, the answer that is being generated, and how to stop it. It is kept, and its
 * answer continues, while other pages are open.
 */
import { useQueryClient } from '@tanstack/react-query';
import { ACCOUNT_QUERY } from '../../../api/account.ts';
import { NO_ANSWER, streamChat } from '../../../api/text.ts';
import type { ChatAnswer } from '../../../api/text.ts';
import { forgetting, useKept } from '../../../session/kept.ts';
import { MOST_TURNS, requestFor } from './conversation.ts';
import type { ChatSettings, ToolResult, Turn } from './conversation.ts';

export interface Conversation {
  readonly turns: readonly Turn[];
  readonly isWriting: boolean;
  /** Whether it has reached the maximum length: a new one must be started. */
  readonly isFull: boolean;
  readonly say: (text: string) => void;
  /** Sends the results of the functions to the model. */
  readonly answerCalls: (results: readonly ToolResult[]) => void;
  /** Retries the failed turn. */
  readonly again: () => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

interface Kept {
  readonly turns: readonly Turn[];
  /** Aborts the current answer, or the last one. */
  readonly ending?: AbortController;
}

const NOTHING_SAID: Kept = { turns: [] };

export function useConversation(model: string, settings: ChatSettings): Conversation {
  const client = useQueryClient();
  const [{ turns, ending: current }, change] = useKept<Kept>(`conversation ${model}`, NOTHING_SAID);
  const last = turns.at(-1);

  const ask = async (said: readonly Turn[]): Promise<void> => {
    const ending = new AbortController();
    forgetting().addEventListener('abort', () => ending.abort(), { once: true, signal: ending.signal });
    let answer: ChatAnswer = NO_ANSWER;
    const show = (turn: Omit<Extract<Turn, { who: 'model' }>, 'who' | 'answer'>): void =>
      change((kept) =>
        kept.ending === ending ? { ending, turns: [...said, { who: 'model', answer, ...turn }] } : kept,
      );
    change(() => ({ ending, turns: [...said, { who: 'model', answer, state: 'writing' }] }));
    try {
      for await (const longer of streamChat(requestFor(model, said, settings), ending.signal)) {
        answer = longer;
        show({ state: 'writing' });
      }
      show({ state: 'complete' });
    } catch (error) {
      if (ending.signal.aborted) show({ state: 'stopped' });
      else show({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
    }
    void client.invalidateQueries({ queryKey: ACCOUNT_QUERY });
  };
  return {
    turns,
    isWriting: last?.who === 'model' && last.state === 'writing',
    isFull: turns.length >= MOST_TURNS,
    say: (text) => void ask([...turns, { who: 'user', text }]),
    answerCalls: (results) => void ask([...turns, { who: 'functions', results }]),
    again: () => void ask(turns.slice(0, -1)),
    stop: () => current?.abort(),
    clear() {
      current?.abort();
      change(() => NOTHING_SAID);
    },
  };
}
