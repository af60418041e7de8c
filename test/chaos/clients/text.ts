/** One text call, streamed or whole: what came, and whether it ended as the contract specifies. */
import { TEXT_MODEL } from '../world/models.ts';
import type { ClientLine } from '../records.ts';
import { whyOf } from './ask.ts';

export interface TextCall {
  readonly account: string;
  readonly apiKey: string;
  readonly apiUrl: string;
  readonly marker: string;
  /** 0 to 99, drawn: determines its kind. */
  readonly ways: number;
  readonly record: (line: ClientLine) => void;
}

const TIMEOUT_MS = 30_000;
/** The words in the prompt for the upstream (provider/text.ts), by the last digit of `ways`. */
const WORDS = ['[break]', '[slow]', '[reject]', '[slow]'];
/** Clients that leave in the middle. */
const LEAVES = 3;
const LEAVES_AFTER_MS = 1_500;

export async function callText({ account, apiKey, apiUrl, marker, ways, record }: TextCall): Promise<void> {
  const isStream = ways < 70;
  const word = WORDS[ways % 10] ?? '';
  const timeoutMs = ways % 10 === LEAVES ? LEAVES_AFTER_MS : TIMEOUT_MS;
  const begun = Date.now();
  const common = { kind: 'text', account, marker, isStream, begun } as const;
  try {
    const response = await fetch(`${apiUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        model: TEXT_MODEL,
        max_tokens: 50,
        // The call of a client that gets no answer is found by it.
        user: marker,
        messages: [{ role: 'user', content: `${marker} say something ${word}` }],
        ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
      }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    const errorCode = response.status === 200 ? '' : (JSON.parse(text) as { error_code: string }).error_code;
    const outcome = { kind: 'answer', status: response.status, errorCode } as const;
    record({ ...common, ended: Date.now(), outcome, ...(response.status === 200 ? readAnswer(text, isStream) : {}) });
  } catch (error) {
    record({ ...common, ended: Date.now(), outcome: { kind: 'unknown', why: whyOf(error) } });
  }
}

interface Completion {
  readonly id?: string;
  readonly error?: unknown;
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

type TextEnd = Pick<ClientLine & { kind: 'text' }, 'end' | 'responseId' | 'usage'>;

/** What a connection that ended in order has delivered. */
export function readAnswer(text: string, isStream: boolean): TextEnd {
  if (!isStream) return { end: 'whole', ...factsOf([JSON.parse(text) as Completion]) };
  const events = text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));
  const said = events.filter((event) => event !== '[DONE]').map((event) => JSON.parse(event) as Completion);
  const isDone = events.at(-1) === '[DONE]';
  const hasError = said.some(({ error }) => error !== undefined);
  return { end: isDone ? (hasError ? 'error' : 'whole') : 'silent', ...factsOf(said) };
}

function factsOf(said: readonly Completion[]): Omit<TextEnd, 'end'> {
  const responseId = said.find(({ id }) => id !== undefined)?.id;
  const usage = said.findLast(({ usage }) => usage != null)?.usage;
  return {
    ...(responseId === undefined ? {} : { responseId }),
    ...(usage == null ? {} : { usage: { input: usage.prompt_tokens, output: usage.completion_tokens } }),
  };
}
