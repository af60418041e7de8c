/** A model in the list. */
import { Badge, Box, Button, Group, Paper, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import type { Model } from '../../api/models.ts';
import { texts } from '../../texts/models.ts';
import { DeprecationBadge } from './deprecation.tsx';
import { modelPath, playgroundPath } from './model-paths.ts';
import classes from './models.module.css';
import { priceWords } from './price-words.ts';
import { SampleView } from './sample-view.tsx';

export function ModelCard({ model }: { readonly model: Model }) {
  return (
    <Paper component="li" withBorder className={classes['card']}>
      <SampleView name={model.id} modality={model.modality} />
      <Box p="md" display="flex" style={{ flexDirection: 'column', flex: 1 }}>
        <Group justify="space-between" align="flex-start" gap={6} mb={4}>
          <Title order={3} size="h5">
            <Link href={modelPath(model.id)} className={classes['link']}>
              {model.id}
            </Link>
          </Title>
          <DeprecationBadge model={model} />
        </Group>
        <Box flex={1} mb="sm">
          <Text size="sm" lineClamp={3}>
            {model.description}
          </Text>
        </Box>
        <Group justify="space-between" gap="xs" wrap="nowrap">
          <Group gap={6} miw={0}>
            <Text size="sm" fw={600}>
              {priceWords(model.pricing).short}
            </Text>
            {model.routes.length > 1 ? (
              <Badge variant="default" tt="none">
                {texts.routes(model.routes.length)}
              </Badge>
            ) : null}
          </Group>
          <Button
            component={Link}
            href={playgroundPath(model.id)}
            size="compact-sm"
            variant="default"
            flex="none"
            className={classes['above']}
            aria-label={texts.tryModel(model.id)}
          >
            {texts.tryIt}
          </Button>
        </Group>
      </Box>
    </Paper>
  );
}
