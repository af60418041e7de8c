/**
 * A conversation as shown, and as sent: turns of the user, of the model, and the results of the functions that the
 * model called.
 */
import type { ChatAnswer, ChatRequest, WireMessage } from '../../../api/text.ts';
import { toolsOf } from './tool-drafts.ts';
import type { ToolDraft } from './tool-drafts.ts';

export type Turn =
  | { readonly who: 'user'; readonly text: string }
  | {
      readonly who: 'model';
      readonly answer: ChatAnswer;
      readonly state: 'writing' | 'complete' | 'stopped' | 'failed';
      readonly error?: Error;
    }
  | { readonly who: 'functions'; readonly results: readonly ToolResult[] };

export interface ToolResult {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
}

export interface ChatSettings {
  readonly system: string;
  readonly maxTokens: number | undefined;
  /** Empty: the model's default. */
  readonly effort: string;
  readonly tools: readonly ToolDraft[];
}

/** Far more than a conversation needs: each request sends all of them. */
export const MOST_TURNS = 200;

/** The body that requests the next turn. A failed or empty turn is left out: it has no answer. */
export function requestFor(model: string, turns: readonly Turn[], settings: ChatSettings): ChatRequest {
  const { system, maxTokens, effort } = settings;
  const tools = toolsOf(settings.tools);
  const messages: WireMessage[] = turns.flatMap(messagesOf);
  return {
    model,
    messages: system.trim() === '' ? messages : [{ role: 'system', content: system }, ...messages],
    ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
    ...(effort === '' ? {} : { reasoning_effort: effort }),
    ...(tools.length === 0 ? {} : { tools: tools.map((each) => ({ type: 'function' as const, function: each })) }),
  };
}

/** The request of the last turn, for code that is run elsewhere: it ends with what the model answers to. */
export function requestOfLastTurn(request: ChatRequest): ChatRequest {
  const last = request.messages.findLastIndex(({ role }) => role !== 'assistant');
  const messages = request.messages.slice(0, last + 1);
  const needsUser = messages.at(-1)?.role === 'system' || messages.length === 0;
  return { ...request, messages: needsUser ? [...messages, { role: 'user', content: '…' }] : messages };
}

function messagesOf(turn: Turn): readonly WireMessage[] {
  if (turn.who === 'user') return [{ role: 'user', content: turn.text }];
  if (turn.who === 'functions') {
    return turn.results.map(({ callId, text }) => ({ role: 'tool', tool_call_id: callId, content: text }));
  }
  const { text } = turn.answer;
  // Calls of an interrupted answer are incomplete, and have no results.
  const toolCalls = turn.state === 'complete' ? turn.answer.toolCalls : [];
  if (text === '' && toolCalls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(toolCalls.length === 0
        ? {}
        : {
            tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({
              id,
              type: 'function' as const,
              function: { name, arguments: given },
            })),
          }),
    },
  ];
}

/** The calls that wait for their results. */
export function openCalls(turns: readonly Turn[]): ChatAnswer['toolCalls'] {
  const last = turns.at(-1);
  return last?.who === 'model' && last.state === 'complete' ? last.answer.toolCalls : [];
}
