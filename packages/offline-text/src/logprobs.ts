/**
 * How probable each token was. The offline text model does not draw from probabilities, so these are made up: the same
 * for the same prompt and position, highest for the token that was emitted, and together never above 1.
 */
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import { bytesOf, commonToken, shownToken } from './tokens.ts';

/** A token of the text with the natural logarithm of its probability, and the alternatives that were requested. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
  readonly alternatives: readonly Omit<TokenLogprob, 'alternatives'>[];
}

/**
 * @param seed identifies the answer.
 * @param position position of the token in it.
 * @param alternatives how many to report.
 */
export function logprobOf(token: number, seed: string, position: number, alternatives: number): TokenLogprob {
  const random = createRandom(hashText(`${seed}/${position}/${token}`));
  const probability = random.between(0.6, 0.99);
  const emitted = entryOf(token, probability);
  const others: TokenLogprob['alternatives'][number][] = [];
  const seen = new Set([token]);
  for (let left = 1 - probability; others.length < alternatives - 1;) {
    const other = commonToken(random.integer(0, 19_999));
    if (seen.has(other)) continue;
    seen.add(other);
    left /= 2;
    others.push(entryOf(other, left));
  }
  return { ...emitted, alternatives: alternatives > 0 ? [emitted, ...others] : [] };
}

function entryOf(token: number, probability: number): TokenLogprob['alternatives'][number] {
  return { token: shownToken(token), logprob: Math.log(probability), bytes: bytesOf(token) };
}
