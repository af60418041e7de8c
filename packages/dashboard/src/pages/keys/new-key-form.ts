/**
 * The form of a new key: the typed values, their errors, and the resulting request. Pure.
 */
import type { Scope } from '@darkroom/api/facts/scopes';
import type { Key, NewKey } from '../../api/keys.ts';
import { texts } from '../../texts/keys.ts';

export interface KeyForm {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly models: readonly string[];
  readonly capDay: string;
  readonly capTotal: string;
  /** In the format of `<input type="date">`; empty: no expiry. */
  readonly lastDay: string;
}

export type KeyFormProblems = Partial<Readonly<Record<keyof KeyForm, string>>>;

/** The limits of the new key. */
export interface OwnRights {
  /** Undefined: every model. */
  readonly models: readonly string[] | undefined;
  /** Unix seconds; 0: it does not expire. */
  readonly expiresAt: number;
}

const AMOUNT = /^\d{1,12}(\.\d{1,6})?$/;

/** @param nowMs milliseconds since 1970. @returns an empty object if the form can be sent. */
export function problemsOf(form: KeyForm, own: OwnRights, nowMs: number): KeyFormProblems {
  const { dialog } = texts;
  const end = endOf(form.lastDay);
  return {
    ...(form.name.trim() === '' ? { name: dialog.needsName } : {}),
    ...(form.scopes.length === 0 ? { scopes: dialog.needsRight } : {}),
    ...(own.models !== undefined && form.models.length === 0 ? { models: dialog.needsModel } : {}),
    ...(isAmountOrNothing(form.capDay) ? {} : { capDay: dialog.badAmount }),
    ...(isAmountOrNothing(form.capTotal) ? {} : { capTotal: dialog.badAmount }),
    ...(Number.isNaN(end) || (end !== 0 && end * 1000 <= nowMs) ? { lastDay: dialog.badDay } : {}),
    ...(own.expiresAt !== 0 && startOf(form.lastDay) > own.expiresAt ? { lastDay: dialog.dayTooLate } : {}),
  };
}

/** @param form without errors. */
export function requestOf(form: KeyForm, own: OwnRights): NewKey {
  const day = form.capDay.trim();
  const total = form.capTotal.trim();
  const end = endOf(form.lastDay);
  // If the session's own key ends on that day the new one ends with it, and so does one without a day.
  const expiresAt = own.expiresAt === 0 ? end : end === 0 ? own.expiresAt : Math.min(end, own.expiresAt);
  return {
    name: form.name.trim(),
    scopes: [...form.scopes],
    ...(form.models.length === 0 ? {} : { models: [...form.models] }),
    ...(expiresAt === 0 ? {} : { expiresAt }),
    ...(day === '' && total === ''
      ? {}
      : { spendCaps: { ...(day === '' ? {} : { day }), ...(total === '' ? {} : { total }) } }),
  };
}

/** @param own the session's key as listed; undefined: the list is not loaded yet. */
export function ownRights(own: Key | undefined, sessionModels: readonly string[] | undefined): OwnRights {
  return { models: sessionModels, expiresAt: own?.expiresAt ?? 0 };
}

function isAmountOrNothing(text: string): boolean {
  return text.trim() === '' || AMOUNT.test(text.trim());
}

/** The last second of a day in the reader's time zone. @returns 0 for no day, NaN for a day that does not exist. */
function endOf(day: string): number {
  return day === '' ? 0 : Math.floor(new Date(`${day}T23:59:59`).getTime() / 1000);
}

function startOf(day: string): number {
  return day === '' ? 0 : Math.floor(new Date(`${day}T00:00:00`).getTime() / 1000);
}
