/**
 * The building blocks for the bodies of both text endpoints. Each may be left out, and may be null, which is the same
 * (contract §9: OpenAI's API).
 */
import { Type } from 'typebox';
import type { TSchema } from 'typebox';

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
