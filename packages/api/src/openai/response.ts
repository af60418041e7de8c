/** The answers of `/responses` (contract §9). */
import { Type } from 'typebox';

/** The response object: the fields that every response has. */
export const ResponseSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer({ minimum: 0 }),
  status: Type.String(),
  model: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  output: Type.Array(Type.Unsafe<unknown>({ type: 'object' })),
});

/** A page of the items of a response's input. */
export const InputItemsSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Type.Unsafe<unknown>({ type: 'object' })),
  first_id: Type.String(),
  last_id: Type.String(),
  has_more: Type.Boolean(),
});

export const InputTokensSchema = Type.Object({
  object: Type.Literal('response.input_tokens'),
  input_tokens: Type.Integer({ minimum: 0, description: 'As they are counted before a call.' }),
});

/** A conversation that was summarised. */
export const CompactionSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('response.compaction'),
  created_at: Type.Integer({ minimum: 0 }),
  output: Type.Array(Type.Unsafe<unknown>({ type: 'object' }), {
    description: 'The messages of the user, and one item of type `compaction`: the input of the next request.',
  }),
  usage: Type.Unsafe<unknown>({ type: ['object', 'null'] }),
});
