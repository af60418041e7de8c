/**
 * The building blocks for the bodies of both text endpoints. Each may be left out, and may be null, which is the same
 * (contract §9: OpenAI's API).
 */
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { REASONING_EFFORTS } from '../facts/text-options.ts';

/** Null is the same as absent. */
export function nullable<T>(schema: TSchema): ReturnType<typeof Type.Unsafe<T | null>> {
  const { type, enum: values } = schema as { type?: string; enum?: readonly unknown[] };
  return Type.Unsafe<T | null>({
    ...schema,
    type: [type, 'null'],
    ...(values === undefined ? {} : { enum: [...values, null] }),
  });
}

export const number = (minimum: number, maximum: number, description: string) =>
  Type.Optional(nullable<number>(Type.Number({ minimum, maximum, description })));
export const integer = (minimum: number, maximum: number, description: string) =>
  Type.Optional(nullable<number>(Type.Integer({ minimum, maximum, description })));
export const boolean = (description: string) => Type.Optional(nullable<boolean>(Type.Boolean({ description })));
export const enumOf = (values: readonly string[], description: string) =>
  Type.Optional(nullable<string>(Type.Unsafe({ type: 'string', enum: [...values], description })));
export const string = (maxLength: number, description: string) =>
  Type.Optional(nullable<string>(Type.String({ maxLength, description })));

/** One schema wherever it occurs: generators would give `reasoning_effort` and `reasoning.effort` one name. */
export const reasoningEffort = enumOf(REASONING_EFFORTS, 'How much the model reasons before it responds.');

/** A pattern, because generators of clients give two values of an enum that differ in `-` and `_` one name, and fail. */
export const promptCacheRetention = Type.Optional(
  nullable<string>(
    Type.String({
      pattern: '^(?:in[-_]memory|24h)$',
      description:
        'How long the prompt cache is kept: `in_memory`, also written `in-memory`, or `24h`. Passed to the upstream.',
    }),
  ),
);

/** Whom a media request is for: at every endpoint. */
export const END_USER = {
  user: string(512, 'An id of your end user. It is stored as `metadata.user` of the task.'),
  safety_identifier: string(512, 'The newer name of `user`. If both are given, this one is stored.'),
};
