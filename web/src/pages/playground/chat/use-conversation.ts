/** A conversation that is under way: what was said, the answer that is being written, and how it is stopped. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ACCOUNT_QUERY } from '../../../api/account.ts';
import { NO_ANSWER, streamChat } from '../../../api/text.ts';
import type { ChatAnswer } from '../../../api/text.ts';
import { requestFor } from './conversation.ts';
import type { ChatSettings, ToolResult, Turn } from './conversation.ts';

export interface Conversation {
  readonly turns: readonly Turn[];
  readonly isWriting: boolean;
  readonly say: (text: string) => void;
  /** Gives the model what the functions returned. */
  readonly answerCalls: (results: readonly ToolResult[]) => void;
  /** Asks again for the turn that failed. */
  readonly again: () => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

export function useConversation(model: string, settings: ChatSettings): Conversation {
  const client = useQueryClient();
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const writing = useRef<AbortController>(undefined);
  useEffect(() => () => writing.current?.abort(), []);
  const last = turns.at(-1);
  const isWriting = last?.who === 'model' && last.state === 'writing';

  const ask = async (said: readonly Turn[]): Promise<void> => {
    const ending = new AbortController();
    writing.current = ending;
    let answer: ChatAnswer = NO_ANSWER;
    const show = (turn: Omit<Extract<Turn, { who: 'model' }>, 'who' | 'answer'>): void => {
      if (writing.current === ending) setTurns([...said, { who: 'model', answer, ...turn }]);
    };
    show({ state: 'writing' });
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
    isWriting,
    say: (text) => void ask([...turns, { who: 'user', text }]),
    answerCalls: (results) => void ask([...turns, { who: 'functions', results }]),
    again: () => void ask(turns.slice(0, -1)),
    stop: () => writing.current?.abort(),
    clear: () => {
      writing.current?.abort();
      writing.current = undefined;
      setTurns([]);
    },
  };
}
