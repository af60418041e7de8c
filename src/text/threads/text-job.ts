/** The jobs of the text threads, and their results: everything whose duration depends on a request's content. */
import type { AnswerPlan } from '@darkroom/offline-text/answer-plan';
import type { TextRequest } from '../request.ts';
import type { CountedRequest } from '../tokens.ts';

export type TextJob =
  /** Only verifies that the thread is running. */
  | { readonly kind: 'start' }
  | { readonly kind: 'count'; readonly requests: readonly CountedRequest[]; readonly limit: number }
  | PlanJob;

/** Reads a request and plans an answer for each seed. */
export interface PlanJob {
  readonly kind: 'plan';
  readonly request: TextRequest;
  readonly maxTokens: number;
  readonly seeds: readonly string[];
}

export type TextJobAnswer =
  | { readonly kind: 'started' }
  | { readonly kind: 'counted'; readonly tokens: readonly number[] }
  | { readonly kind: 'planned'; readonly plans: readonly AnswerPlan[] }
  /** A schema that refers to itself too often. */
  | { readonly kind: 'too_complex' }
  | { readonly kind: 'failed'; readonly message: string };
