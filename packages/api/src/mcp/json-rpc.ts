/**
 * Messages of JSON-RPC 2.0 (§4, §5) as the Model Context Protocol uses them: their outer form, checked strictly, and
 * the response to a request that reached no tool.
 */
import { Type } from 'typebox';
import { factsOf } from '../facts/error-kinds.ts';
import type { ErrorKind } from '../facts/error-kinds.ts';

export type Message = Readonly<Record<string, unknown>>;

/**
 * The maximum number of calls in a batch. Batches belong to an older version of the protocol; each of their calls may
 * wait for a task.
 */
const MAX_BATCH = 16;

const JSONRPC = { const: '2.0' };

/** The maximum length of an id in characters, because the response repeats it. */
const MAX_ID_CHARACTERS = 256;

const ID = {
  anyOf: [
    { type: 'string', maxLength: MAX_ID_CHARACTERS },
    { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  ],
};

const CALL = {
  type: 'object',
  properties: {
    jsonrpc: JSONRPC,
    id: { ...ID, description: 'Absent from a notification.' },
    method: { type: 'string', maxLength: 100, description: 'Such as `initialize`, `tools/list` or `tools/call`.' },
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

/** The id of a message that is answered; null: it has none, or was not read (§5). */
export type MessageId = string | number | null;

export interface RpcFailure {
  readonly jsonrpc: '2.0';
  readonly id: MessageId;
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly data: RpcErrorData;
  };
}

/** The content of the envelope. */
export interface RpcErrorData {
  readonly status: number;
  readonly error_code: string;
}

export function rpcErrorData(kind: ErrorKind): RpcErrorData {
  const { status, errorCode } = factsOf(kind);
  return { status, error_code: errorCode };
}

/** An HTTP error for a JSON-RPC client: the content of the envelope, in the form that such a client reads. */
export function rpcFailure(kind: ErrorKind, message: string, id: MessageId = null): RpcFailure {
  return { jsonrpc: '2.0', id, error: { code: factsOf(kind).rpcCode, message, data: rpcErrorData(kind) } };
}

export const RpcFailureSchema = Type.Object(
  {
    jsonrpc: Type.Unsafe<'2.0'>(JSONRPC),
    id: Type.Unsafe<MessageId>({
      anyOf: [...ID.anyOf, { type: 'null' }],
      description: 'Of the request, where it was read; otherwise null.',
    }),
    error: Type.Object(
      {
        code: Type.Integer({ minimum: -32_768, maximum: -32_000 }),
        message: Type.String({ description: 'For people; it names the field where one is at fault.' }),
        data: Type.Object(
          {
            status: Type.Integer({ minimum: 400, maximum: 599, description: 'Equal to the HTTP status.' }),
            error_code: Type.String({ description: 'For programs, as everywhere in this API.' }),
          },
          { additionalProperties: false },
        ),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);

/** @returns the id of a single request, whatever else is wrong with it; null for a notification, batch or response. */
export function idOf(body: unknown): MessageId {
  if (typeof body !== 'object' || body === null || !('id' in body && 'method' in body)) return null;
  const { id } = body;
  if (typeof id === 'string') return id.length <= MAX_ID_CHARACTERS ? id : null;
  return typeof id === 'number' && Number.isSafeInteger(id) ? id : null;
}

export const AnswerSchema = Type.Unsafe<unknown>({
  type: ['object', 'array'],
  description: 'The JSON-RPC answer, or those of a batch.',
});
