import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** A client with PostgreSQL's JDBC driver. Usage: java -cp DRIVER Client.java PORT */
public class Client {
    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/tfhe_sbc?user=owner";
        try (Connection connection = DriverManager.getConnection(url)) {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(
                            "SELECT device, date_trunc('day', time) AS day, avg(temperature_c) AS mean, count(*) AS rows"
                                    + " FROM readings GROUP BY 1, 2 ORDER BY 1, 2")) {
                while (rows.next()) {
                    System.out.println(rows.getString("device") + " " + rows.getTimestamp("day").toInstant()
                            + " " + rows.getDouble("mean") + " " + rows.getLong("rows"));
                }
            }
            // From the fifth time on, the driver has the server prepare the statement.
            try (PreparedStatement statement = connection.prepareStatement(
                    "SELECT count(*) FROM readings WHERE device = ?")) {
                for (int time = 0; time < 7; time++) {
                    statement.setString(1, "station-01");
                    try (ResultSet rows = statement.executeQuery()) {
                        rows.next();
                        if (rows.getLong(1) <= 0) {
                            throw new AssertionError("no rows");
                        }
                    }
                }
            }
            try (ResultSet tables = connection.getMetaData().getTables(null, "public", "%", new String[] {"TABLE"})) {
                boolean found = false;
                while (tables.next()) {
                    found |= tables.getString("TABLE_NAME").equals("readings");
                }
                System.out.println("readings " + (found ? "is listed" : "is not listed"));
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("DELETE FROM readings");
            } catch (SQLException error) {
                System.out.println("refused " + error.getSQLState());
            }
        }
    }
}
