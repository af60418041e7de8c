/**
 * The state of a conversation: its turns, the answer that is being generated, and how to stop it. It is state, and its
 * answer continues, while other pages are open.
 */
import { useQueryClient } from '@tanstack/react-query';
import { ACCOUNT_QUERY } from '../../../api/account.ts';
import { NO_ANSWER, streamChat } from '../../../api/text.ts';
import type { ChatAnswer } from '../../../api/text.ts';
import { memoryCleared, useMemory } from '../../../session/memory.ts';
import { MOST_TURNS, requestFor } from './conversation.ts';
import type { ChatSettings, ToolResult, Turn } from './conversation.ts';

export interface Conversation {
  readonly turns: readonly Turn[];
  readonly isWriting: boolean;
  /** Whether it has reached the maximum length: a new one must be started. */
  readonly isFull: boolean;
  readonly send: (text: string) => void;
  /** Sends the results of the functions to the model. */
  readonly answerCalls: (results: readonly ToolResult[]) => void;
  /** Retries the failed turn. */
  readonly retry: () => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

interface ConversationState {
  readonly turns: readonly Turn[];
  /** Aborts the current answer, or the last one. */
  readonly controller?: AbortController;
}

const EMPTY: ConversationState = { turns: [] };

export function useConversation(model: string, settings: ChatSettings): Conversation {
  const client = useQueryClient();
  const [{ turns, controller: current }, change] = useMemory<ConversationState>(`conversation ${model}`, EMPTY);
  const last = turns.at(-1);

  const request = async (sent: readonly Turn[]): Promise<void> => {
    const controller = new AbortController();
    memoryCleared().addEventListener('abort', () => controller.abort(), { once: true, signal: controller.signal });
    let answer: ChatAnswer = NO_ANSWER;
    const show = (turn: Omit<Extract<Turn, { who: 'model' }>, 'who' | 'answer'>): void =>
      change((state) =>
        state.controller === controller ? { controller, turns: [...sent, { who: 'model', answer, ...turn }] } : state,
      );
    change(() => ({ controller, turns: [...sent, { who: 'model', answer, state: 'writing' }] }));
    try {
      for await (const longer of streamChat(requestFor(model, sent, settings), controller.signal)) {
        answer = longer;
        show({ state: 'writing' });
      }
      show({ state: 'complete' });
    } catch (error) {
      if (controller.signal.aborted) show({ state: 'stopped' });
      else show({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
    }
    void client.invalidateQueries({ queryKey: ACCOUNT_QUERY });
  };
  return {
    turns,
    isWriting: last?.who === 'model' && last.state === 'writing',
    isFull: turns.length >= MOST_TURNS,
    send: (text) => void request([...turns, { who: 'user', text }]),
    answerCalls: (results) => void request([...turns, { who: 'functions', results }]),
    retry: () => void request(turns.slice(0, -1)),
    stop: () => current?.abort(),
    clear() {
      current?.abort();
      change(() => EMPTY);
    },
  };
}
