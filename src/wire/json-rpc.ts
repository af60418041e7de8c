/** Messages of JSON-RPC 2.0 (§4, §5) as the Model Context Protocol has them: their outer form, strictly. */
import { Type } from 'typebox';

export type Message = Readonly<Record<string, unknown>>;

/** Batches are of an older version of the protocol; each of their calls may wait for a task. */
const MAX_BATCH = 16;

const JSONRPC = { const: '2.0' };
const ID = {
  anyOf: [{ type: 'string' }, { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }],
};
const CALL = {
  type: 'object',
  properties: {
    jsonrpc: JSONRPC,
    id: { ...ID, description: 'Absent from a notification.' },
    method: { type: 'string', description: 'Such as `initialize`, `tools/list` or `tools/call`.' },
    params: { type: 'object' },
  },
  required: ['jsonrpc', 'method'],
  additionalProperties: false,
};

const RESULT = {
  type: 'object',
  properties: { jsonrpc: JSONRPC, id: ID, result: { type: 'object' } },
  required: ['jsonrpc', 'id', 'result'],
  additionalProperties: false,
};

const ERROR = {
  type: 'object',
  properties: {
    jsonrpc: JSONRPC,
    id: ID,
    error: {
      type: 'object',
      properties: {
        code: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
        message: { type: 'string' },
        data: {},
      },
      required: ['code', 'message'],
    },
  },
  required: ['jsonrpc', 'error'],
  additionalProperties: false,
};

const MESSAGE = { anyOf: [CALL, RESULT, ERROR] };

export const MessagesSchema = Type.Unsafe<Message | readonly Message[]>({
  anyOf: [...MESSAGE.anyOf, { type: 'array', items: MESSAGE, minItems: 1, maxItems: MAX_BATCH }],
  description: `A JSON-RPC message of the Model Context Protocol, or up to ${MAX_BATCH} of them.`,
});

export const AnswerSchema = Type.Unsafe<unknown>({
  type: ['object', 'array'],
  description: 'The JSON-RPC answer, or those of a batch.',
});
