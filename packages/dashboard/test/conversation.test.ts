/** What the code beside a conversation sends. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requestOfLastTurn } from '../src/pages/playground/chat/conversation.ts';

const system = { role: 'system', content: 'Be brief.' } as const;
const user = { role: 'user', content: 'Hello' } as const;
const assistant = { role: 'assistant', content: 'Hi' } as const;
const rolesOf = (...messages: Parameters<typeof requestOfLastTurn>[0]['messages']): string[] =>
  requestOfLastTurn({ model: 'm', messages }).messages.map(({ role }) => role);

describe('the request of the last turn', () => {
  it('ends with what the model answers to, a message of the user or results of functions', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } } as const;
    const result = { role: 'tool', tool_call_id: 'c', content: '7' } as const;

    assert.deepEqual(rolesOf(user, assistant), ['user']);
    assert.deepEqual(rolesOf(user, assistant, user), ['user', 'assistant', 'user']);
    assert.deepEqual(rolesOf(user, { role: 'assistant', content: null, tool_calls: [call] }, result, assistant), [
      'user',
      'assistant',
      'tool',
    ]);
  });

  it('has a placeholder before the first message', () => {
    assert.deepEqual(rolesOf(), ['user']);
    assert.deepEqual(rolesOf(system), ['system', 'user']);
  });
});
