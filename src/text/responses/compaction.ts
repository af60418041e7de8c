/**
 * `POST /responses/compact` (contract §9.6): a conversation summarised by its model, as an item that stands for it in
 * later requests. Its content hides nothing: clients treat it as opaque.
 */
import { decodeBase64 } from '../../domain/data-url.ts';
import { isRecord } from '../../domain/json.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import type { ResponsesBody } from './decode-request.ts';
import type { InputMessageItem } from './items.ts';

const SEALED = 'dkc1.';
const REQUEST =
  'Summarise this conversation for whoever continues it without having read it: facts, names, numbers, decisions, the results of functions, and what is still to be done. Reply with the summary alone.';

/** The request whose answer is the summary: that of a compaction, with its instruction as the last message. */
export function summaryRequest(request: ResponsesBody): ResponsesBody {
  const { tools: _tools, tool_choice: _choice, text: _text, ...body } = request;
  const message = (content: string) => ({ type: 'message', role: 'user', content });
  const { input } = body;
  const items = typeof input === 'string' ? [message(input)] : (input ?? []);
  return { ...body, input: [...items, message(REQUEST)], store: false, stream: false, background: false };
}

/**
 * What the compaction returns.
 *
 * @param sent the input of the summary, complete. @param response to it.
 * @returns undefined: the model has not written a whole summary.
 */
export function compactionOf(sent: unknown, response: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(response) || response['status'] !== 'completed') return undefined;
  const { id, created_at, usage, output } = response;
  const summary = textsIn(output).join('\n\n');
  if (summary === '') return undefined;
  const messages = Array.isArray(sent) ? sent.filter((item) => isRecord(item) && item['role'] === 'user') : [];
  const item = {
    id: `cmp_${String(id).replace(/^resp_/, '')}`,
    type: 'compaction',
    encrypted_content: `${SEALED}${Buffer.from(summary).toString('base64url')}`,
  };
  return { id, object: 'response.compaction', created_at, output: [...messages.slice(0, -1), item], usage };
}

function textsIn(output: unknown): readonly string[] {
  const items: readonly unknown[] = Array.isArray(output) ? output : [];
  return items.flatMap((item) => {
    const content: readonly unknown[] = isRecord(item) && Array.isArray(item['content']) ? item['content'] : [];
    return content.flatMap((part) =>
      isRecord(part) && part['type'] === 'output_text' && typeof part['text'] === 'string' ? [part['text']] : [],
    );
  });
}

/** A compaction in the input of a request. @throws {InvalidTextRequest} it is not from here. */
export function summaryMessage(sealed: string, where: string): InputMessageItem {
  const field = `${where}.encrypted_content`;
  const summary = sealed.startsWith(SEALED) ? decodeBase64(sealed.slice(SEALED.length))?.toString() : undefined;
  if (summary === undefined) {
    throw new InvalidTextRequest(field, `${field}: it is not from POST /v1/responses/compact of this service`);
  }
  const text = `Summary of the conversation so far:\n${summary}`;
  return { type: 'message', role: 'developer', status: 'completed', content: [{ type: 'input_text', text }] };
}
