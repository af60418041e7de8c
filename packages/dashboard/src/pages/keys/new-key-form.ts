/**
 * The form of a new key: the typed values, their errors, and the resulting request. No side effects, so that it can be
 * tested without a page.
 */
import type { Scope } from '@darkroom/api/facts/scopes';
import type { Key, NewKey } from '../../api/keys.ts';
import type { Session } from '../../session/session.tsx';
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

export type KeyFormErrors = Partial<Readonly<Record<keyof KeyForm, string>>>;

/** The most that a new key may have. */
export interface Grantable {
  /** Who grants it: the account by its session's key, or an operator by the token, which allows everything. */
  readonly by: 'account' | 'operator';
  readonly scopes: readonly Scope[];
  /** Undefined: every model. */
  readonly models: readonly string[] | undefined;
  /** Unix seconds; 0: it does not expire. */
  readonly expiresAt: number;
}

export const GRANTABLE_BY_OPERATOR: Grantable = {
  by: 'operator',
  scopes: texts.scopeGroups.flatMap(({ scopes }) => scopes),
  models: undefined,
  expiresAt: 0,
};

/** @param own the session's key as listed; undefined: the list is not loaded yet. */
export function grantableBy({ scopes, models }: Pick<Session, 'scopes' | 'models'>, own: Key | undefined): Grantable {
  return { by: 'account', scopes, models, expiresAt: own?.expiresAt ?? 0 };
}

const AMOUNT = /^\d{1,12}(\.\d{1,6})?$/;

/** @param nowMs milliseconds since 1970. @returns an empty object if the form can be sent. */
export function validateKeyForm(form: KeyForm, most: Grantable, nowMs: number): KeyFormErrors {
  const { creation: words } = texts;
  const end = endOf(form.lastDay);
  return {
    ...(form.name.trim() === '' ? { name: words.needsName } : {}),
    ...(form.scopes.length === 0 ? { scopes: words.needsScope } : {}),
    ...(most.models !== undefined && form.models.length === 0 ? { models: words.needsModel } : {}),
    ...(isAmountOrNothing(form.capDay) ? {} : { capDay: words.badAmount }),
    ...(isAmountOrNothing(form.capTotal) ? {} : { capTotal: words.badAmount }),
    ...(Number.isNaN(end) || (end !== 0 && end * 1000 <= nowMs) ? { lastDay: words.badDay } : {}),
    ...(most.expiresAt !== 0 && startOf(form.lastDay) > most.expiresAt ? { lastDay: words.dayTooLate } : {}),
  };
}

/** @param form without errors. */
export function requestOf(form: KeyForm, most: Grantable): NewKey {
  const day = form.capDay.trim();
  const total = form.capTotal.trim();
  const end = endOf(form.lastDay);
  // If the session's key expires on that day the new one expires with it, and so does one without a day.
  const expiresAt = most.expiresAt === 0 ? end : end === 0 ? most.expiresAt : Math.min(end, most.expiresAt);
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
