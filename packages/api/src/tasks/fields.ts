/**
 * Fields that many shapes have, in the format of the wire (contract, "Conventions"): times in Unix seconds, money as
 * decimal strings in USD.
 */
import { Type } from 'typebox';

export const UnixSeconds = Type.Integer({ minimum: 0 });

/** A time that may be missing. */
export function unixSecondsOrZero(description: string) {
  return Type.Integer({ minimum: 0, description: `Unix seconds. 0: ${description}` });
}

/** An amount in a response. */
export function usd(description: string) {
  return Type.String({ pattern: '^-?[0-9]+(\\.[0-9]{1,6})?$', description });
}

/** An amount that a client sends: not negative, exact to the micro. */
export function usdInput(description: string) {
  return Type.String({ pattern: '^[0-9]{1,12}(\\.[0-9]{1,6})?$', description });
}

export const Currency = Type.Literal('USD');

/** The query of a list that is read page by page. @param things what a page contains. */
export const pageQuery = (things: string, maxCursorLength: number) => ({
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: maxCursorLength, description: 'The `nextCursor` of the previous page.' }),
  ),
  size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      'x-clamped': true,
      description: `The number of ${things} per page. Default 20.`,
    }),
  ),
});
