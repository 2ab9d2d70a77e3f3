"""What alembic runs: the steps that are missing, in the transaction of who asked for them."""

from alembic import context

from shardwright.history.tables import METADATA, VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
