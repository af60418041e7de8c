/**
 * Entry of the threads in which large request bodies are parsed: takes one job at a time. Found by path from
 * json-body.ts.
 */
import { serialize } from 'node:v8';
import { lowerThreadPriority } from '@darkroom/media/process-priority';
import { isRecord } from '../../domain/json.ts';
import { factsOf } from '../../tasks/record/body-facts.ts';
import type { BodyJob, BodyJobAnswer } from './parse-body.ts';
import { parseBody } from './parse-body.ts';

// A small request, and PostgreSQL, which it waits for, take priority: a large one takes long anyway.
lowerThreadPriority();

/** Runs one job; the thread calls it. */
export default function doBodyJob(job: BodyJob): BodyJobAnswer {
  if (job.kind === 'start') return { kind: 'started' };
  const parsed = parseBody(job.bytes);
  if (parsed.kind !== 'parsed') return parsed;
  const { value } = parsed;
  const of = job.factsOf === 'body' && isRecord(value) ? value['body'] : value;
  const facts = job.factsOf !== undefined && isRecord(of) ? factsOf(of) : undefined;
  const needed = job.isOutline === true && isRecord(value) ? outlineOf(value) : value;
  return { kind: 'parsed', serialized: serialize(needed), facts };
}

function outlineOf(line: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const texts = Object.entries(line).filter(([, value]) => typeof value === 'string');
  const { body } = line;
  return { ...Object.fromEntries(texts), body: isRecord(body) ? { model: body['model'] } : undefined };
}
