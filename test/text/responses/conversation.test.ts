/** `truncation: "auto"`: what is omitted if a model cannot take a whole conversation (contract §9). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message } from '../../../src/text/request.ts';
import type { DecodedResponsesRequest } from '../../../src/text/responses/decode-request.ts';
import { messagesOf, fitConversation } from '../../../src/text/responses/conversation.ts';
import { countInputTokens } from '../../../src/text/tokens.ts';
import { decode } from './answers.ts';

/** Some hundred tokens. */
const LONG = 'word '.repeat(100);

function turn(name: string): readonly object[] {
  return [
    { role: 'user', content: `${name} ${LONG}` },
    { type: 'function_call', call_id: name, name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: name, output: LONG },
    { role: 'assistant', content: LONG },
  ];
}

function requestOf(turns: readonly string[]): DecodedResponsesRequest {
  const input = [{ role: 'developer', content: 'Be kind.' }, ...turns.flatMap(turn)];
  return decode({ model: 'm', instructions: 'Be brief.', input });
}

/** The first word of the users' messages. */
function askedIn({ request: { messages } }: DecodedResponsesRequest): readonly string[] {
  const firstWord = ({ content: [part] }: Message): string =>
    part?.type === 'text' ? (part.text.split(' ')[0] ?? '') : '';
  return messages.filter(({ role }) => role === 'user').map(firstWord);
}

describe('fitting a conversation into the context', () => {
  it('leaves it unchanged when it fits', async () => {
    const request = requestOf(['one', 'two']);

    assert.equal(await fitConversation(request, await countInputTokens(request.request)), request);
  });

  const TURN = ['user', 'assistant', 'tool', 'assistant'];

  it('drops its oldest turns as a whole, and no system message', async () => {
    const request = requestOf(['one', 'two', 'three', 'four']);
    const room = await countInputTokens(requestOf(['one', 'two']).request);

    const fitted = await fitConversation(request, room + 20);

    assert.deepEqual(askedIn(fitted), ['three', 'four']);
    assert.ok((await countInputTokens(fitted.request)) <= room + 20);
    assert.deepEqual(
      fitted.request.messages.map(({ role }) => role),
      ['system', 'developer', ...TURN, ...TURN],
    );
    // Upstreams with this interface receive the same.
    assert.deepEqual(messagesOf('Be brief.', fitted.items), fitted.request.messages);
  });

  it('preserves its last turn, even one that is too long', async () => {
    assert.deepEqual(askedIn(await fitConversation(requestOf(['one', 'two']), 5)), ['two']);
  });
});
