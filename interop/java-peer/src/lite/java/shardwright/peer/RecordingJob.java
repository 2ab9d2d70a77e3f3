package shardwright.peer;

import java.util.Map;
import org.apache.shardingsphere.elasticjob.api.ShardingContext;
import org.apache.shardingsphere.elasticjob.simple.job.SimpleJob;

/** A job that only takes its time, and tells when it began and ended. */
public final class RecordingJob implements SimpleJob {

    private final Events events;
    private final long length;

    RecordingJob(final Events events, final long length) {
        this.events = events;
        this.length = length;
    }

    @Override
    public void execute(final ShardingContext shard) {
        final var run = Map.of("item", shard.getShardingItem(), "total", shard.getShardingTotalCount());
        events.add("start", run);
        try {
            Thread.sleep(length);
        } catch (final InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        events.add("end", run);
    }
}
