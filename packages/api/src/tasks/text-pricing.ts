/** What the tokens of a text model cost, as model files and the catalogue say it. */
import { Type } from 'typebox';
import { BatchFactor } from './pricing.ts';

const Usd = Type.String({ pattern: '^[0-9]{1,9}(\\.[0-9]{1,12})?$', description: 'Decimal USD per million tokens.' });

/**
 * What tokens cost. By default, those read from a cache cost as much as others, and reasoning as much as the answer.
 */
export const TextPricingSchema = Type.Object(
  {
    unit: Type.Literal('token', { description: 'Tokens are counted.' }),
    inputUsd: Usd,
    cachedInputUsd: Type.Optional(Usd),
    outputUsd: Usd,
    reasoningUsd: Type.Optional(Usd),
    batchFactor: Type.Optional(BatchFactor),
  },
  { additionalProperties: false, description: 'Decimal USD per million tokens of each kind.' },
);
