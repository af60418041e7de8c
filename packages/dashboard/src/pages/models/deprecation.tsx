/** A model's deprecation: since when, until when, and its replacement. */
import { Anchor, Badge, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from 'wouter';
import { Note } from '../../components/note.tsx';
import type { Model } from '../../api/models.ts';
import { texts } from '../../texts/models.ts';
import { modelPath } from './model-paths.ts';

const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });

/** Renders nothing for a model that is not deprecated. */
export function DeprecationBadge({ model }: { readonly model: Model }) {
  if (model.deprecation === null && model.shutdown_date === null) return null;
  return (
    <Badge color="orange" variant="light" tt="none" c="var(--mantine-color-text)">
      {model.shutdown_date === null ? texts.deprecated : texts.endsOn(day.format(model.shutdown_date * 1000))}
    </Badge>
  );
}

/** The same in full. */
export function DeprecationNote({ model }: { readonly model: Model }) {
  const { deprecation, shutdown_date: shutdown, replacement } = model;
  if (deprecation === null && shutdown === null) return null;
  return (
    <Note color="orange" icon={<IconAlertTriangle aria-hidden />} title={texts.deprecated} mb="md">
      {deprecation === null ? null : <Text size="sm">{texts.deprecatedSince(day.format(deprecation * 1000))}</Text>}
      {shutdown === null ? null : <Text size="sm">{texts.shutdownOn(day.format(shutdown * 1000))}</Text>}
      {replacement === null ? null : (
        <Text size="sm">
          {texts.replacement}{' '}
          <Anchor component={Link} href={modelPath(replacement)} c="inherit" underline="always">
            {replacement}
          </Anchor>
        </Text>
      )}
    </Note>
  );
}
